/**
 * Every space becomes an underscore, none collapsed or trimmed, then lower case without a locale (spec 2.2, S-076), and
 * NFC, because two spellings that look alike are one name.
 */
export function keyOf(name: string): string {
  return name.replaceAll(' ', '_').toLowerCase().normalize('NFC')
}

/** A readable type for a type that was given by its key only. */
export function labelOf(key: string): string {
  return key.replaceAll('_', ' ').replace(/(^| )(\p{Ll})/gu, (_, before: string, letter: string) => {
    const capital = letter.toUpperCase()
    // The capital of some letters does not lead back to them, and type and key would not agree.
    return before + (keyOf(capital) === letter ? capital : letter)
  })
}
