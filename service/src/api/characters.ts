// Controls, zero-width characters, bidi marks and embeddings, byte order mark.
const invisible = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u

// ZWNJ and ZWJ belong to the spelling of words and emoji; anywhere else they join nothing and are invisible.
const joined =
  /(?<=[\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d](?=[\p{L}\p{M}\p{N}\p{Extended_Pictographic}])/gu
const joiner = /[\u200c\u200d]/

const loneSurrogate = /\p{Cs}/u

/** Returns whether the database can store a text: PostgreSQL refuses NUL, and UTF-8 has no lone surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !loneSurrogate.test(text)
}

export function hasInvisible(text: string): boolean {
  return invisible.test(text) || joiner.test(text.replace(joined, ''))
}
