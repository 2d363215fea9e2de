import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createService } from 'agent-service'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { beforeAll, expect, it } from 'vitest'
import { type Schema, typesOf } from '../support/schema-types.ts'
import { optionsWith, problemsOf, sharingPrograms } from '../support/type-checks.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const support = `${root}test/support/`
const fixture = readFileSync(`${support}api-types.fixture.ts`, 'utf8')
const recipe = `${root}docs/snippets/api-client/openapi.fixture.ts`
const programOf = sharingPrograms()
// JSON has no undefined: a member that may be undefined is one that may be absent.
const options = optionsWith({ exactOptionalPropertyTypes: false })

const differences: readonly [name: string, from: string | RegExp, to: string][] = [
  ['a member of another type', '"llm_model": number', '"llm_model": string'],
  ['a member more in a response', '"llm_model": number', '"llm_model": number; "more": number'],
  ['a member that may be missing', '"agent_key": string', '"agent_key"?: string'],
  ['a member less in a response', /"model_version": \(?string\)?; /, ''],
  ['another column', '"agent_key" | ', ''],
  ['a member less in a body', /"search_value"\?: [^;]+; /, ''],
  ['a member more in a body', '"search_value"', '"more"?: number; "search_value"'],
]

let document: OpenAPI3 & { components: { schemas: Record<string, Schema> } }
/** The schemas of the service, which it makes from zod, as TypeScript. Then the same with each of the differences. */
let serviceTypes: string[]
/** What the type checker says of each. */
let problems: string[][]

beforeAll(async () => {
  const service = await createService()
  const response = await service.fetch(`${service.baseUrl}/openapi.json`)
  document = (await response.json()) as typeof document
  const types = typesOf(document.components.schemas)
  await service.close()
  serviceTypes = [types, ...differences.map(([, from, to]) => types.replace(from, to))]
  // In one program, because each begins with the globals of the platform.
  const copies = serviceTypes.map((text, index) => {
    const name = `service-types-${index}.ts`
    const own = fixture.replace("from './service-types.ts'", `from './${name}'`)
    return [
      [`${support}api-types-${index}.fixture.ts`, own],
      [`${support}${name}`, text],
    ] as const
  })
  const program = programOf(
    copies.map(([[path]]) => path),
    options,
    new Map(copies.flat()),
  )
  problems = copies.map((copy) =>
    problemsOf(
      program,
      copy.map(([path]) => path),
    ),
  )
})

it('the types of the client and the schemas of the service are the same, in both directions', () => {
  expect(problems[0]).toEqual([])
})

it.each(differences.map(([name], at) => [name, at + 1] as const))('a difference would be seen: %s', (_, at) => {
  expect(serviceTypes[at]).not.toBe(serviceTypes[0])
  expect(problems[at]).not.toEqual([])
})

it('the published types of agent-auth/api need no other package', () => {
  const packages = programOf([`${root}src/api/index.ts`], options)
    .getSourceFiles()
    .map(({ fileName }) => fileName)
    .filter((path) => /node_modules/.test(path) && !/node_modules\/typescript\//.test(path))
  expect(packages).toEqual([])
})

it('the recipe for openapi-fetch compiles with the types that openapi-typescript makes of /openapi.json', async () => {
  const generated = astToString(await openapiTS(document, { defaultNonNullable: false }))
  const text = readFileSync(recipe, 'utf8')
  // Each beside the recipe, with the types under the name that it imports.
  const variants = [text, text.replace('limit: 50', 'limit: "50"'), text.replace('data.items', 'data.rows')]
  const paths = variants.map((_, index) => recipe.replace('openapi.', `openapi-${index}.`))
  const texts = new Map([[recipe.replace('openapi.fixture.ts', 'agent-api.ts'), generated]])
  for (const [index, variant] of variants.entries()) texts.set(paths[index] ?? '', variant)
  const program = programOf(paths, optionsWith({}), texts)
  const [whole, otherLimit, otherMember] = paths.map((path) => problemsOf(program, [path]))
  expect(whole).toEqual([])
  expect(otherLimit).toEqual([expect.stringContaining('not assignable')])
  expect(otherMember).toContainEqual(expect.stringContaining('rows'))
})
