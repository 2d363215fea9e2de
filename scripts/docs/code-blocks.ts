import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type ts from 'typescript'
import { compiler } from '../typescript.ts'
import { root } from './folders.ts'
import { sitePages } from './stage.ts'

/** A fenced block of a page. */
interface Block {
  readonly file: string
  /** The line of the page on which the code begins, from 1. */
  readonly line: number
  readonly language: string
  readonly code: string
  /** Code of a comment before the block that declares what the block leaves out: `<!-- compiled after: … -->`. */
  readonly before: string
}

/** Returns what is wrong with the code of the pages: TypeScript is checked against the sources, JSON and JavaScript parsed. */
export function codeProblems(): string[] {
  const blocks = sitePages.flatMap(({ file }) => blocksOf(file))
  const parsed = blocks.flatMap((block) => {
    if (block.language === 'json') return jsonProblems(block)
    return /^(js|jsx|mjs)$/.test(block.language) ? scriptProblems(block) : []
  })
  return [...parsed, ...typeProblems(blocks.filter(({ language }) => /^tsx?$/.test(language)))]
}

function blocksOf(file: string): Block[] {
  const page = readFileSync(join(root, file), 'utf8')
  const pattern = /(?:<!-- compiled after:\n([\s\S]*?)-->\n+)?^```(\w+)[^\n]*\n([\s\S]*?)^```$/gm
  return [...page.matchAll(pattern)].map(({ index, 0: whole, 1: before = '', 2: language = '', 3: code = '' }) => {
    const start = index + whole.lastIndexOf(`\`\`\`${language}`)
    return { file, line: page.slice(0, start).split('\n').length + 1, language, code, before }
  })
}

function jsonProblems({ file, line, code }: Block): string[] {
  try {
    JSON.parse(code)
    return []
  } catch {
    return [`${file}:${line}: no JSON`]
  }
}

function scriptProblems({ file, line, code }: Block): string[] {
  const { diagnostics = [] } = compiler.transpileModule(code, {
    reportDiagnostics: true,
    compilerOptions: { target: compiler.ScriptTarget.ESNext, jsx: compiler.JsxEmit.Preserve, allowJs: true },
    fileName: 'block.jsx',
  })
  return diagnostics.map(
    ({ messageText }) => `${file}:${line}: ${compiler.flattenDiagnosticMessageText(messageText, ' ')}`,
  )
}

/**
 * Checks all blocks in one program. A block is a module beside the snippet that it repeats, or among the snippets, so that it may
 * import one of them. Tests of their own compile a snippet that is called a fixture, and examples/frameworks.
 */
function typeProblems(blocks: readonly Block[]): string[] {
  const options = compilerOptions()
  const places = snippetPlaces()
  const sources = new Map(
    blocks.flatMap((block, index) => {
      const snippet = places.get(block.code) ?? 'docs/snippets/x.ts'
      return /\.fixture\.|^examples\/frameworks\//.test(snippet)
        ? []
        : [[join(root, dirname(snippet), `block-${index}.tsx`), block] as const]
    }),
  )
  const host = compiler.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => sources.has(path) || fileExists(path)
  host.getSourceFile = (path, version, ...rest) => {
    const block = sources.get(path)
    if (block === undefined) return getSourceFile(path, version, ...rest)
    return compiler.createSourceFile(path, `${withBefore(block)}${block.code}\nexport {}\n`, version)
  }
  const program = compiler.createProgram({ rootNames: [...sources.keys()], options, host })
  return [...sources].flatMap(([path, { file, line, before }]) => {
    const source = program.getSourceFile(path)
    const added = before.split('\n').length
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return found.map(({ messageText, start = 0 }) => {
      const at = source ? source.getLineAndCharacterOfPosition(start).line : 0
      return `${file}:${line + at - added}: ${compiler.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  })
}

/** Returns the files that pages repeat, snippets and apps of the examples, by their text. */
function snippetPlaces(): Map<string, string> {
  const folders = ['docs/snippets', 'examples/node-backend/adapters', 'examples/frameworks']
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !/\.next|node_modules|\.svelte-kit|\.react-router/.test(file))
      .map((file) => `${folder}/${file}`),
  )
  const codeOf = (file: string): string => readFileSync(join(root, file), 'utf8').replace(/^\/\*\* @jsx.*\n/, '')
  return new Map(files.map((file) => [codeOf(file), file]))
}

function withBefore({ before }: Block): string {
  return `${before}\n`
}

/** The options of the project, with JSX of React and the types of Vite, whose variables some pages show. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = compiler.readConfigFile(join(root, 'tsconfig.json'), compiler.sys.readFile)
  const { options } = compiler.parseJsonConfigFileContent(
    { ...config, include: [], files: ['x.ts'] },
    compiler.sys,
    root,
  )
  return {
    ...options,
    types: ['node', 'vite/client'],
    jsxImportSource: 'react',
    isolatedDeclarations: false,
    declaration: false,
    allowImportingTsExtensions: true,
    noEmit: true,
  }
}
