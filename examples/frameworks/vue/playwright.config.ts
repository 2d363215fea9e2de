import { defineConfig } from '@playwright/test'

const { CHROMIUM: executablePath } = process.env

export default defineConfig({
  testMatch: '*.spec.ts',
  use: { launchOptions: executablePath ? { executablePath } : {} },
})
