/**
 * Returns the key of a name: each space as an underscore, in lower case without a locale (specification 2.2, S-076), and
 * in NFC, because two spellings that look the same are one name.
 */
export function keyOf(name: string): string {
  return name.replaceAll(' ', '_').toLowerCase().normalize('NFC')
}

/** The two fields of a type, as a creation or a seed has them. */
interface TypeFields {
  readonly parent_agent_type?: string | null | undefined
  readonly parent_agent_type_key?: string | null | undefined
}

/** Returns whether both fields are there and name different types. */
export function isTwoTypes({ parent_agent_type: type, parent_agent_type_key: key }: TypeFields): boolean {
  return Boolean(type && key) && keyOf(type ?? '') !== key?.normalize('NFC')
}

/** Returns the type and its key, of which one may be missing. Any type is accepted. */
export function agentTypeOf(fields: TypeFields): { type: string; typeKey: string } {
  const typeKey = fields.parent_agent_type_key?.normalize('NFC') ?? keyOf(fields.parent_agent_type ?? '')
  return { type: fields.parent_agent_type ?? labelOf(typeKey), typeKey }
}

/** Returns the type for a key that was sent without one. */
export function labelOf(key: string): string {
  return key.replaceAll('_', ' ').replace(/(^| )(\p{Ll})/gu, (_, before: string, letter: string) => {
    const capital = letter.toUpperCase()
    // Some letters have a capital whose lower case is another letter. Then type and key would not agree.
    return before + (keyOf(capital) === letter ? capital : letter)
  })
}
