import { fileURLToPath } from 'node:url'

/** The root of the repository, without a slash at its end. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** Where the packages and the settings of the site are. */
export const siteFolder: string = `${root}/site`

/** The pages as VitePress reads them. Each build writes them. */
export const stagedFolder: string = `${siteFolder}/.pages`

/** The site as it is served. */
export const builtFolder: string = `${siteFolder}/dist`
