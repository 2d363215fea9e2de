import type { UserConfig } from 'vite'
import solid from 'vite-plugin-solid'

const config: UserConfig = { plugins: [solid()], resolve: { dedupe: ['solid-js'] } }

export default config
