import type { UserConfig } from 'vite'

const config: UserConfig = {}

export default config
