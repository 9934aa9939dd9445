/** One version everywhere: what cannot read package.json repeats it. */
import { version } from '@rapport/core/runtime/version.ts'
import { expect, test } from 'vitest'
import { readRepositoryText } from './repository-texts.ts'

test('the image label has the version', () => {
  expect(readRepositoryText('Dockerfile')).toContain(`org.opencontainers.image.version=${version} `)
})

test('the SDK has the version', () => {
  expect(JSON.parse(readRepositoryText('packages/sdk/package.json'))).toMatchObject({ version })
})

test('the newest release of the changelog is the version', () => {
  const [, newest] = /^## \[(\d+\.\d+\.\d+)\]/m.exec(readRepositoryText('CHANGELOG.md')) ?? []
  // Until the first tag there is none.
  expect(newest ?? version).toBe(version)
})
