import { fileURLToPath } from 'node:url'
import { createService } from 'agent-service'
import type ts from 'typescript'
import { beforeAll, expect, it } from 'vitest'
import { compiler } from '../../scripts/typescript.ts'
import { type Schema, typesOf } from '../support/schema-types.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const fixture = `${root}test/support/api-types.fixture.ts`
const generated = `${root}test/support/service-types.ts`
const { compilerOptions } = compiler.readConfigFile(`${root}tsconfig.json`, compiler.sys.readFile).config as {
  compilerOptions: object
}
// JSON has no undefined: a member that may be undefined is one that may be absent.
const { options } = compiler.convertCompilerOptionsFromJson(
  { ...compilerOptions, types: [], jsx: undefined, jsxImportSource: undefined, exactOptionalPropertyTypes: false },
  root,
)
/** Parsed once: the declarations of the platform are most of the work. */
const parsed = new Map<string, ts.SourceFile | undefined>()
/** The schemas of the service, which it makes from zod, as TypeScript. */
let serviceTypes: string

beforeAll(async () => {
  const service = await createService()
  const response = await service.fetch(`${service.baseUrl}/openapi.json`)
  const { components } = (await response.json()) as { components: { schemas: Record<string, Schema> } }
  serviceTypes = typesOf(components.schemas)
  await service.close()
})

/** What the type checker says if the generated file has this text. */
function problems(text: string): string[] {
  const host = compiler.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => path === generated || fileExists(path)
  host.getSourceFile = (path, language) => {
    if (path === generated) return compiler.createSourceFile(path, text, language)
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, language))
    return parsed.get(path)
  }
  const program = compiler.createProgram([fixture], options, host)
  const files = [fixture, generated].map((path) => program.getSourceFile(path))
  return files
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
    .map(({ messageText }) => compiler.flattenDiagnosticMessageText(messageText, '\n'))
}

it('the types of the client and the schemas of the service are the same, in both directions [F067]', () => {
  expect(problems(serviceTypes)).toEqual([])
})

it.each<[string, string | RegExp, string]>([
  ['a member of another type', '"llm_model": number', '"llm_model": string'],
  ['a member more in a response', '"llm_model": number', '"llm_model": number; "more": number'],
  ['a member that may be missing', '"agent_key": string', '"agent_key"?: string'],
  ['a member less in a response', /"model_version": \(?string\)?; /, ''],
  ['another column', '"agent_key" | ', ''],
  ['a member less in a body', /"search_value"\?: [^;]+; /, ''],
  ['a member more in a body', '"search_value"', '"more"?: number; "search_value"'],
])('a difference would be seen: %s', (_, from, to) => {
  const changed = serviceTypes.replace(from, to)
  expect(changed).not.toBe(serviceTypes)
  expect(problems(changed)).not.toEqual([])
})

it('the published types of agent-auth/api need no other package', () => {
  const program = compiler.createProgram([`${root}src/api/index.ts`], options)
  const packages = program
    .getSourceFiles()
    .map(({ fileName }) => fileName)
    .filter((path) => /node_modules/.test(path) && !/node_modules\/typescript\//.test(path))
  expect(packages).toEqual([])
})
