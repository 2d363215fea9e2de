import { serverUrl } from '../support/servers-client.ts'
import { bundleAgainst } from './bundle-against.ts'

/** Builds a file, named from this folder, against the package as it is published, which is built once in a run. */
export async function buildScript(file: string, alias?: Record<string, string>): Promise<string> {
  return bundleAgainst(await serverUrl('package'), file, alias)
}
