import * as z from 'zod'
import { apiLimits, limits } from '../limits.ts'
import { hasInvisible, isStorable } from './characters.ts'

export function storableText(): z.ZodType<string, string> {
  return z.string().refine((text) => isStorable(text), {
    message: 'text may not hold NUL or lone surrogates',
    params: { type: 'string_unstorable' },
  })
}

function filledText(): z.ZodType<string, string> {
  return z.string().min(1).pipe(storableText())
}

/**
 * Returns the schema of a description, which is bounded (`descriptionCharacters`, 4,000) because searches read every one.
 */
export function descriptionText(): z.ZodType<string, string> {
  return bounded(filledText(), limits.descriptionCharacters)
}

/**
 * Returns the schema of a text that a search compares with names and keys. No longer one can be found (`limits.filterCharacters`,
 * 1,500; A-44).
 */
export function comparedText(): z.ZodType<string, string> {
  return bounded(storableText(), limits.filterCharacters)
}

/** Bounds a text. It counts code points, so that an emoji is one character. Later checks skip a text that is longer. */
export function bounded(text: z.ZodType<string, string>, most: number): z.ZodType<string, string> {
  return text
    .refine((value) => !isLongerThan(value, most), {
      message: `at most ${most} characters`,
      params: { type: 'string_too_long' },
      // NFC sorts combining marks in quadratic time, so a body of them would take seconds.
      abort: true,
    })
    .meta({ maxLength: most })
}

/** Returns whether a text has more code points. */
export function isLongerThan(text: string, most: number): boolean {
  return text.length > most && (text.length > 2 * most || [...text].length > most)
}

/**
 * Returns the schema of a name, as it was sent: bounded (`nameCharacters`, 500), and without invisible characters (A-17, S-076,
 * S-078).
 */
export function nameText(): z.ZodType<string, string> {
  return filledText().pipe(visibleName()).meta({ maxLength: apiLimits.nameCharacters })
}

function visibleName(): z.ZodType<string, string> {
  return bounded(
    z.string().refine((text) => !hasInvisible(text), {
      message: 'text may not hold control, bidi or zero-width characters; ZWNJ and ZWJ may join letters or emoji',
      params: { type: 'string_invisible' },
    }),
    apiLimits.nameCharacters,
  )
}
