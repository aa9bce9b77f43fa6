// Lints one file with Redocly's rules: node redocly.mjs OPENAPI.YAML REDOCLY.YAML
import {createRequire} from 'node:module';

const require = createRequire(process.cwd() + '/');
const {formatProblems, getTotals, lint, loadConfig} = require('@redocly/openapi-core');
const [file, configPath] = process.argv.slice(2);
const config = await loadConfig({configPath});
const problems = await lint({ref: file, config});
const totals = getTotals(problems);

formatProblems(problems, {totals, format: 'stylish'});
process.exit(totals.errors || totals.warnings ? 1 : 0);
