#!/usr/bin/python3
"""The reference page in a real browser: Chromium with its driver, skipped where they are not installed."""
import shutil
import tempfile
import unittest

from service import SLOW, Service

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
    HAS_BROWSER = bool(shutil.which("chromium") and shutil.which("chromedriver"))
except ImportError:
    HAS_BROWSER = False

# What a checker of accessibility looks at first: names of fields, levels of headings, ids, heads of tables.
FAULTS = """
const found = [];
const shown = (e) => e.getClientRects().length > 0;
let level = 0;
for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
  if (h.closest('nav') || !shown(h)) continue;
  if (+h.tagName[1] > level + 1) found.push('a level is left out before ' + h.textContent);
  level = +h.tagName[1];
}
for (const e of document.querySelectorAll('input, textarea, select'))
  if (!e.labels.length || !e.labels[0].textContent.trim()) found.push('no label: ' + e.outerHTML);
for (const e of document.querySelectorAll('a, button'))
  if (!e.textContent.trim()) found.push('no text: ' + e.outerHTML);
for (const e of document.querySelectorAll('table'))
  if (!e.querySelector('th[scope=col]')) found.push('a table without heads');
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
if (new Set(ids).size < ids.length) found.push('an id twice');
if (document.documentElement.lang !== 'en' || document.querySelectorAll('main').length !== 1 || !document.title) found.push('frame');
return found;
"""
# The least contrast of text with what lies behind it (WCAG 2 asks for 4.5).
CONTRAST = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
let least = [99, ''];
for (const e of document.querySelectorAll('a, p, code, th, td, h1, h2, h3, small, span, summary, button, label')) {
  if (!e.getClientRects().length || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(behind(e))];
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < least[0]) least = [ratio, e.outerHTML.slice(0, 200)];
}
return least;
"""


def browser(folder, *arguments, scripts=True):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1200,900",
                     "--user-data-dir=" + folder, *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    driver = webdriver.Chrome(service=webdriver.chrome.service.Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(60 * SLOW)
    return driver


@unittest.skipUnless(HAS_BROWSER, "Chromium, its driver or python3-selenium is not installed")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(settings={"GPUPICK_BASE_PATH": "/gpupick"})
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.driver = browser(cls.folder.name + "/a")

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.service.stop()
        cls.folder.cleanup()

    def open(self, path="/docs", driver=None):
        (driver or self.driver).get(self.service.url(path))
        return driver or self.driver

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def test_it_loads_nothing_from_elsewhere_and_breaks_no_policy(self):
        driver = self.open()
        self.assertEqual([line for line in driver.get_log("browser") if line["level"] not in ("DEBUG", "INFO")], [])
        self.assertEqual(driver.execute_script("return performance.getEntriesByType('resource').map((r) => r.name)"), [])
        driver.execute_script("const s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s)")
        self.assertIsNone(driver.execute_script("return window.hacked ?? null"))  # the policy is in force

    def test_find(self):
        driver = self.open()
        self.find("#find").send_keys("price history offer")
        shown = driver.execute_script("return [...document.querySelectorAll('article')].filter((a) => !a.hidden).map((a) => a.id)")
        self.assertIn("getPriceHistory", shown)
        self.assertNotIn("getModel", shown)

    def send(self, operation):
        button = self.find("#%s form button" % operation)
        self.driver.execute_script("arguments[0].scrollIntoView(); arguments[0].click()", button)
        WebDriverWait(self.driver, 30 * SLOW).until(
            lambda d: d.find_elements(By.CSS_SELECTOR, "#%s .result pre" % operation))
        return self.find("#%s .result pre" % operation).get_property("textContent")

    def test_requests_are_sent_from_the_page_under_any_prefix(self):
        for path in ("/docs", "/gpupick/docs"):
            with self.subTest(path):
                self.open(path)
                self.find("#listPrices input[name=limit]").send_keys("1")
                text = self.send("listPrices")
                self.assertTrue(text.startswith("200 OK"), text[:200])
                self.assertIn(self.service.url(path.replace("/docs", "/v1/prices?limit=1")), text)
                self.assertTrue(self.send("createSizing").startswith("200 OK"))
                self.assertTrue(self.send("getModel").startswith("200 OK"))
                self.assertIn(self.service.url(path.replace("/docs", "")), self.find("#about").text)

    def test_what_is_wrong_is_shown_as_it_is_answered(self):
        self.open()
        box = self.find("#createSizing textarea")
        self.driver.execute_script("arguments[0].value = '{\"workload\": {\"x\": \"<b>\"}}'", box)
        text = self.send("createSizing")
        self.assertTrue(text.startswith("422"), text)
        self.assertIn("unknown_field", text)

    def test_accessibility(self):
        driver = self.open()
        self.assertEqual(driver.execute_script(FAULTS), [])
        driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
        self.assertEqual(driver.switch_to.active_element.text, "Skip to the content")
        for scheme in ("light", "dark"):
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-color-scheme", "value": scheme}]})
            ratio, where = driver.execute_script(CONTRAST)
            self.assertGreaterEqual(ratio, 4.5, (scheme, where))
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_a_narrow_window_needs_no_sideways_scrolling(self):
        driver = self.open()
        driver.set_window_size(500, 900)
        wide = driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        driver.set_window_size(1200, 900)
        self.assertLessEqual(wide, 1)

    def test_it_can_be_read_without_javascript(self):
        driver = browser(self.folder.name + "/b", scripts=False)
        try:
            self.open(driver=driver)
            self.assertIn("/v1/recommendations", driver.find_element(By.ID, "createRecommendation").text)
            self.assertIn("curl", driver.find_element(By.CSS_SELECTOR, "#createRecommendation .curl").text)
            self.assertFalse(driver.find_element(By.CSS_SELECTOR, "form.try").is_displayed())
            self.assertFalse(driver.find_element(By.ID, "find").is_displayed())
            example = driver.find_element(By.CSS_SELECTOR, "#createRecommendation details")
            example.find_element(By.TAG_NAME, "summary").click()
            self.assertIn("workload", example.text)
        finally:
            driver.quit()


if __name__ == "__main__":
    unittest.main()
