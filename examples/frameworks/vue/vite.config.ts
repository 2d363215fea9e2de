import vue from '@vitejs/plugin-vue'
import type { UserConfig } from 'vite'

const config: UserConfig = { plugins: [vue()], resolve: { dedupe: ['vue'] } }

export default config
