/*
 * Sound: how a model of tokens hears and speaks. All 0 where it does neither.
 *
 * What is heard becomes positions of an encoder (Whisper) or, behind a tower, tokens of the prompt
 * (Voxtral, Qwen2-Audio); what is spoken are codes of an audio codec, some a step of the decoder.
 */
#ifndef CORE_SOUND_H
#define CORE_SOUND_H

struct sound {
	double heard_positions; /* a second of sound, that the encoder or tower attends over */
	double heard_tokens;	/* a second of sound in the prompt; 0 where an encoder has it */
	double window_seconds;	/* heard in windows, each padded to this; 0 = as long as it is */
	double spoken_steps;	/* of the decoder for a second that it puts out */
	double spoken_seconds;	/* that it says at once; 0 = as much as its context holds */
	int codebooks;		/* codes a step, each a step behind the one before it */
	int guided; /* sequences that decode one request: 2 with classifier-free guidance */
};

#endif
