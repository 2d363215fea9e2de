import { build } from 'esbuild'
import { Miniflare, supportedCompatibilityDate } from 'miniflare'

await build({ entryPoints: ['worker.js'], outfile: 'bundle.js', bundle: true, format: 'esm', conditions: ['workerd'] })
// The first is the oldest that Cloudflare has. Streams of the app's own, which the proxy needs, came with the second.
for (const compatibilityDate of ['2021-11-02', '2022-11-30', supportedCompatibilityDate]) {
  const miniflare = new Miniflare({ modules: true, scriptPath: 'bundle.js', compatibilityDate })
  const url = `http://worker.example/${compatibilityDate < '2022-11-30' ? 'login' : 'login-and-proxy'}`
  try {
    const response = await miniflare.dispatchFetch(url, { method: 'POST', body: process.argv[2] })
    if (!response.ok) throw new Error(`${compatibilityDate}: ${await response.text()}`)
  } finally {
    await miniflare.dispose()
  }
}
