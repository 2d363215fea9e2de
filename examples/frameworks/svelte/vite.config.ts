import { svelte } from '@sveltejs/vite-plugin-svelte'
import type { UserConfig } from 'vite'

const config: UserConfig = { plugins: [svelte()] }

export default config
