import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

await build({ entryPoints: ['worker.js'], outfile: 'bundle.js', bundle: true, format: 'esm', conditions: ['workerd'] })
const miniflare = new Miniflare({ modules: true, scriptPath: 'bundle.js', compatibilityDate: '2026-01-01' })
try {
  const response = await miniflare.dispatchFetch('http://worker.example/', { method: 'POST', body: process.argv[2] })
  if (!response.ok) throw new Error(await response.text())
} finally {
  await miniflare.dispose()
}
