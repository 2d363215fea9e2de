/**
 * Returns the key of a name: each space as an underscore, in lower case without a locale (specification 2.2, S-076), and
 * in NFC, because two spellings that look the same are one name.
 */
export function keyOf(name: string): string {
  return name.replaceAll(' ', '_').toLowerCase().normalize('NFC')
}

/** Returns the type for a key that was sent without one. */
export function labelOf(key: string): string {
  return key.replaceAll('_', ' ').replace(/(^| )(\p{Ll})/gu, (_, before: string, letter: string) => {
    const capital = letter.toUpperCase()
    // Some letters have a capital whose lower case is another letter. Then type and key would not agree.
    return before + (keyOf(capital) === letter ? capital : letter)
  })
}
