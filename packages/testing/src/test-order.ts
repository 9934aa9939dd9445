import { BaseSequencer, type TestSpecification } from 'vitest/node'

const lanes = ['unit', 'integration', 'postgres-15', 'slow']
/** Takes longest of its lane, on all processors. */
const staticChecks = 'packages/testing/src/conventions/static-checks.test.ts'

/** One lane after the other without a pause between them, and each as Vitest orders it: larger files first. */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification) =>
      moduleId.endsWith(staticChecks) ? -1 : lanes.indexOf(project.name)
    // oxlint-disable-next-line unicorn/no-array-sort -- A method of Vitest.
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
