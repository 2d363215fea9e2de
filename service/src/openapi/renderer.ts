import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the page loads of the package swagger-ui-dist, and the media type of each file. */
const mediaTypes = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'oauth2-redirect.html': 'text/html; charset=utf-8',
  'oauth2-redirect.js': 'text/javascript; charset=utf-8',
} as const

type FileName = keyof typeof mediaTypes

export interface RendererFile {
  bytes: Uint8Array<ArrayBuffer>
  mediaType: string
}

/**
 * Returns a function that reads a file of the renderer, or resolves to undefined for another name. Each file is read once, when it
 * is asked for.
 */
export function createRenderer(): (name: string) => Promise<RendererFile | undefined> {
  const files = new Map<FileName, Promise<RendererFile>>()
  return async (name) => {
    if (!isFileName(name)) return undefined
    const file = files.get(name) ?? readRendererFile(name)
    files.set(name, file)
    // A file that could not be read is tried again.
    file.catch(() => files.delete(name))
    return file
  }
}

async function readRendererFile(name: FileName): Promise<RendererFile> {
  return { bytes: new Uint8Array(await readFile(join(rendererFolder(), name))), mediaType: mediaTypes[name] }
}

/** The build copies the files beside itself. From the sources, they are in their package. */
function rendererFolder(): string {
  const copied = fileURLToPath(new URL('./swagger-ui', import.meta.url))
  return existsSync(copied) ? copied : dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
}

function isFileName(name: string): name is FileName {
  return Object.hasOwn(mediaTypes, name)
}
