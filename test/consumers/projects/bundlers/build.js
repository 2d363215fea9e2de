import { join } from 'node:path'

// Bundles page.js and nothing.js with the bundler that is asked for, as its own documentation does it for a library of ES modules.
const builds = {
  async esbuild(file, outfile) {
    const { build } = await import('esbuild')
    await build({ entryPoints: [file], outfile, bundle: true, format: 'esm', minify: true })
  },
  async rollup(file, outfile) {
    const { rollup } = await import('rollup')
    const { nodeResolve } = await import('@rollup/plugin-node-resolve')
    const onwarn = ({ message }) => {
      throw new Error(message)
    }
    const external = /^react(\/|$)/
    const bundle = await rollup({ input: file, external, plugins: [nodeResolve({ browser: true })], onwarn })
    await bundle.write({ file: outfile, format: 'es', inlineDynamicImports: true })
  },
  async vite(file, outfile) {
    const { build } = await import('vite')
    const lib = { entry: file, formats: ['es'], fileName: () => outfile }
    const define = { 'process.env.NODE_ENV': '"production"' }
    await build({ configFile: false, logLevel: 'warn', define, build: { outDir: '.', emptyOutDir: false, lib } })
  },
  async webpack(file, outfile) {
    const { default: webpack } = await import('webpack')
    const output = { path: process.cwd(), filename: outfile, library: { type: 'module' } }
    const stats = await new Promise((resolve, reject) => {
      const settings = {
        mode: 'production',
        target: 'web',
        entry: join(process.cwd(), file),
        output,
        experiments: { outputModule: true },
      }
      webpack(settings, (error, done) => (error ? reject(error) : resolve(done)))
    })
    if (stats.hasErrors() || stats.compilation.warnings.some(({ message }) => !/size limit|lazy load/.test(message)))
      throw new Error(stats.toString())
  },
}

await builds[process.argv[2]](process.argv[3], process.argv[4])
