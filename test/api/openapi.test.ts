// @module-tag slow

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Session } from 'agent-auth'
import { type Service, startService } from 'agent-service'
import openapiTS, { astToString } from 'openapi-typescript'
import type ts from 'typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compiler } from '../../scripts/typescript.ts'
import { sessionAt } from '../support/api-client.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const recipe = `${root}docs/snippets/api-client/openapi.fixture.ts`
const generated = `${root}docs/snippets/api-client/agent-api.ts`
const { compilerOptions } = compiler.readConfigFile(`${root}tsconfig.json`, compiler.sys.readFile).config as {
  compilerOptions: object
}
const { options } = compiler.convertCompilerOptionsFromJson({ ...compilerOptions, types: [], jsx: undefined }, root)

/** Parsed once: the declarations of the platform are most of the work. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/** The recipe, whose types exist in this test alone. */
interface Recipe {
  openApiClient(session: Session, baseUrl: string): object
  modelNames(api: object): Promise<string[]>
}

let service: Service
/** What `npx openapi-typescript` writes. */
let types: string
beforeAll(async () => {
  service = await startService({ dev: 'on', authPort: 0, basePort: 0 })
  types = astToString(await openapiTS(new URL('/openapi.json', service.baseUrl), { defaultNonNullable: false }))
})
afterAll(() => service.close())

/** Returns what the type checker says about this text of the recipe. */
function problems(text: string): string[] {
  const texts = new Map([
    [recipe, text],
    [generated, types],
  ])
  const host = compiler.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  host.getSourceFile = (path, language) => {
    const own = texts.get(path)
    if (own !== undefined) return compiler.createSourceFile(path, own, language)
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, language))
    return parsed.get(path)
  }
  const program = compiler.createProgram([recipe], options, host)
  const file = program.getSourceFile(recipe)
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(({ messageText }) =>
    compiler.flattenDiagnosticMessageText(messageText, '\n'),
  )
}

it('the recipe for openapi-fetch compiles with the types that openapi-typescript makes of /openapi.json', () => {
  const text = readFileSync(recipe, 'utf8')
  expect(problems(text)).toEqual([])
  expect(problems(text.replace('limit: 50', 'limit: "50"'))).toEqual([expect.stringContaining('not assignable')])
  expect(problems(text.replace('data.items', 'data.rows'))).toContainEqual(expect.stringContaining('rows'))
})

it('openapi-fetch sends with the token of a session, which is refreshed below it', async () => {
  const { openApiClient, modelNames } = (await import(/* @vite-ignore */ recipe)) as Recipe
  const api = openApiClient(await sessionAt(service, 'ada'), service.baseUrl)
  const names = await modelNames(api)
  expect(names).toContain('Aurora')
  await service.dev.expireAccessTokens()
  expect(await modelNames(api)).toEqual(names)
})
