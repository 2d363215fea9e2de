import * as z from 'zod'
import { hasInvisible, isStorable } from './characters.ts'

//
const longestName = 500

export function storableText(): z.ZodType<string, string> {
  return z.string().refine((text) => isStorable(text), {
    message: 'text may not hold NUL or lone surrogates',
    params: { type: 'string_unstorable' },
  })
}

export function filledText(): z.ZodType<string, string> {
  return z.string().min(1).pipe(storableText())
}

/** A name for people, as it was sent: counted in code points, nothing invisible in it (A-17, S-076, S-078). */
export function nameText(): z.ZodType<string, string> {
  return filledText().pipe(visibleName()).meta({ maxLength: longestName })
}

function visibleName(): z.ZodType<string, string> {
  return z
    .string()
    .refine((text) => [...text].length <= longestName, {
      message: `at most ${longestName} characters`,
      params: { type: 'string_too_long' },
    })
    .refine((text) => !hasInvisible(text), {
      message: 'text may not hold control, bidi or zero-width characters; ZWNJ and ZWJ may join letters or emoji',
      params: { type: 'string_invisible' },
    })
}
