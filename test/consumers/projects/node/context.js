import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'

// A context with the language, and of the platform only what is named here: no process, no Buffer, no timers of Node's kind.
const platform = {
  AbortController,
  AbortSignal,
  Blob,
  Headers,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
}
const context = vm.createContext({
  ...platform,
  atob,
  btoa,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setTimeout: (...given) => Number(setTimeout(...given)),
  structuredClone,
})
const modules = new Map()

function moduleOf(file) {
  if (!modules.has(file)) {
    const load = async (name) => evaluated(fileOf(name, file))
    const source = readFileSync(file, 'utf8')
    modules.set(file, new vm.SourceTextModule(source, { context, identifier: file, importModuleDynamically: load }))
  }
  return modules.get(file)
}

function fileOf(name, from) {
  if (name.startsWith('.')) return join(dirname(from), name)
  return fileURLToPath(import.meta.resolve(name))
}

async function evaluated(file) {
  const module = moduleOf(file)
  if (module.status === 'unlinked') await module.link((name, { identifier }) => moduleOf(fileOf(name, identifier)))
  await module.evaluate()
  return module
}

const { namespace } = await evaluated(join(import.meta.dirname, 'login.js'))
await namespace.login(JSON.parse(process.argv[2]))
