import { BaseSequencer, type TestSpecification } from 'vitest/node'

const projects = ['unit', 'integration', 'postgres-15', 'slow']
/** Those that take longest come first in their project, so that the end of a run does not wait for one of them. */
const longest = [
  'packages/testing/src/conventions/static-checks.test.ts',
  'apps/e2e/src/add-a-resource.slow.test.ts',
  'apps/e2e/src/rolling-upgrade.slow.test.ts',
  'apps/e2e/src/campaign-faults.slow.test.ts',
  'apps/e2e/src/documentation.slow.test.ts',
  'apps/e2e/src/guides.slow.test.ts',
  'apps/e2e/src/redis-high-availability.slow.test.ts',
  'apps/e2e/src/webhook-chaos.slow.test.ts',
  'apps/e2e/src/attack/attack.slow.test.ts',
]

/** One project after the other without a pause between them, and each as Vitest orders it: larger files first. */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) =>
      projects.indexOf(project.name) - (longest.some((path) => moduleId.endsWith(path)) ? 0.5 : 0)
    // oxlint-disable-next-line unicorn/no-array-sort -- A method of Vitest.
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
