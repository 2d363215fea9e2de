import type { JsonSchema, OpenApiDocument } from '../../src/api/openapi.ts'

export interface SchemaCheck {
  /** What is wrong with a value, undocumented members included, also where the schema would let them pass. */
  problems(schema: JsonSchema, value: unknown): string[]
  /** Documented members, as `Component.member`, that no checked value had. */
  unseen(): string[]
}

/** Holds answers to the components of a document, and remembers which of their members ever came. */
export function createSchemaCheck({ components }: OpenApiDocument): SchemaCheck {
  const seen = new Set<string>()

  function check(schema: JsonSchema, value: unknown, at: string): string[] {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.replace('#/components/schemas/', '')
      return check(components.schemas[name] ?? {}, value, name)
    }
    if (schema.anyOf !== undefined) {
      const results = schema.anyOf.map((option) => check(option as JsonSchema, value, at))
      return results.find((result) => result.length === 0) ?? results.flat()
    }
    const types: string[] = schema.type === undefined ? [] : [schema.type].flat()
    if (types.length > 0 && !types.includes(typeOf(value, types))) return [`${at} is not ${types}`]
    if (Array.isArray(value)) return value.flatMap((item) => check((schema.items ?? {}) as JsonSchema, item, `${at}[]`))
    return typeof value === 'object' && value !== null ? checkMembers(schema, value, at) : []
  }
  function checkMembers(schema: JsonSchema, value: object, at: string): string[] {
    if (schema.properties === undefined) return []
    const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name))
    const found = Object.entries(value).flatMap(([name, member]) => {
      const documented = schema.properties?.[name]
      if (documented === undefined) return [`${at}.${name} is not documented`]
      seen.add(`${at}.${name}`)
      return check(documented as JsonSchema, member, `${at}.${name}`)
    })
    return [...missing.map((name) => `${at}.${name} is missing`), ...found]
  }
  function members(schema: JsonSchema, at: string): string[] {
    const own = Object.entries(schema.properties ?? {})
    return own.flatMap(([name, member]) => [`${at}.${name}`, ...members(member as JsonSchema, `${at}.${name}`)])
  }
  return {
    problems: (schema, value) => check(schema, value, 'body'),
    unseen() {
      const answers = Object.entries(components.schemas).filter(([name]) => !/(Search|Create)$/.test(name))
      return answers.flatMap(([name, schema]) => members(schema, name)).filter((member) => !seen.has(member))
    },
  }
}

function typeOf(value: unknown, wanted: string[]): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value) && wanted.includes('integer')) return 'integer'
  return typeof value
}
