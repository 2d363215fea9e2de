/** JSON Schema as agent-service writes it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

const known = new Set([
  ...['$ref', 'type', 'const', 'enum', 'anyOf', 'oneOf', 'items', 'properties', 'required', 'additionalProperties'],
  // These limit values of a type, or describe them, and do not change the type.
  ...['default', 'description', 'format', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'],
  ...['pattern', 'propertyNames', 'title', '$schema'],
])

/** Returns one exported TypeScript type for each named schema. Throws for a keyword that it does not know. */
export function typesOf(schemas: Readonly<Record<string, Schema>>): string {
  return Object.entries(schemas)
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema)}\n`)
    .join('')
}

function typeOf(schema: Schema): string {
  const unknown = Object.keys(schema).filter((keyword) => !known.has(keyword))
  if (unknown.length > 0) throw new Error(`Unknown keywords: ${unknown.join(', ')}`)
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? ''
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const types = [schema.type ?? []].flat().map((type) => plainType(type, schema))
  // Beside a type, the alternatives only say which members are required.
  if (types.length === 0) types.push(...(schema.anyOf ?? schema.oneOf ?? []).map(typeOf))
  return types.length > 1 ? `(${types.join(' | ')})` : (types[0] ?? 'unknown')
}

function plainType(type: string, schema: Schema): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return `${schema.items ? typeOf(schema.items) : 'unknown'}[]`
  return type === 'object' ? objectType(schema) : type
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  const isOpen = typeof additionalProperties === 'object'
  return `{ ${[...members, ...(isOpen ? ['[member: string]: unknown'] : [])].join('; ')} }`
}
