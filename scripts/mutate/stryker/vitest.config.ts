import { relative } from 'node:path'
import type { ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import config from '../../../vitest.config.ts'

/** Begins with the files that failed last, because changes that stand side by side often fail the same test, then with the shortest. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { cache, config } = this.ctx
    const costOf = ({ project, moduleId }: TestSpecification): number => {
      const last = cache.getFileTestResults(`${project.name}:${relative(config.root, moduleId)}`)
      return last?.failed ? -1 : (last?.duration ?? 0)
    }
    return files.toSorted((a, b) => costOf(a) - costOf(b))
  }
}

const unit = config.test?.projects?.find(
  (project) => typeof project === 'object' && 'test' in project && project.test?.name === 'unit',
)
if (typeof unit !== 'object' || !('test' in unit)) throw new Error('vitest.config.ts has no project unit')

/** The unit tests as Stryker runs them. A change that makes a promise wait for good ends after half a minute. */
const mutationConfig: ViteUserConfig = {
  ...config,
  // What failed under a change is not remembered for the next ordinary run.
  cacheDir: '.vite',
  test: {
    ...config.test,
    sequence: { sequencer: LikelyFirst },
    projects: [
      {
        ...unit,
        test: {
          ...unit.test,
          // Stryker's own setup file is the first, and chooses the change before another one imports the sources.
          sequence: { setupFiles: 'list' },
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
}

export default mutationConfig
