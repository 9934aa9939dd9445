/** What lock files do not cover is pinned too: images, the actions of workflows, and pnpm itself. */
import { expect, test } from 'vitest'
import { readRepositoryText, repositoryTexts } from './repository-texts.ts'

const find = (path: string, pattern: RegExp) =>
  [...readRepositoryText(path).matchAll(pattern)].map(([, found = '']) => found)

test('every image has an exact version and a digest', () => {
  // Compose builds the image `rapport`, or `RAPPORT_IMAGE` names one.
  const images = [
    ...find('Dockerfile', /^FROM (\S+:\S+)/gm),
    ...find('docker-compose.yml', /^ +image: (\S+)/gm).filter((image) => !image.includes('rapport')),
  ]
  expect(images.length).toBeGreaterThan(3)
  for (const image of images) expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+(\.\d+)?(-slim)?@sha256:[0-9a-f]{64}$/)
})

test('every action has a commit and its version', () => {
  const workflows = repositoryTexts.filter(({ path }) => path.startsWith('.github/workflows/'))
  const actions = workflows.flatMap(({ path }) => find(path, /uses: (.+)/g))
  expect(actions.length).toBeGreaterThan(3)
  for (const action of actions) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

test('pnpm has one version everywhere, and a hash', () => {
  const { packageManager } = JSON.parse(readRepositoryText('package.json')) as { packageManager: string }
  expect(packageManager).toMatch(/^pnpm@\d+\.\d+\.\d+\+sha512\.[0-9a-f]{128}$/)
  const [pinned = ''] = packageManager.split('+')
  for (const path of ['Dockerfile', '.ci/run', '.github/workflows/test.yml']) {
    expect([path, find(path, /(pnpm@\S+)/g)]).toEqual([path, [pinned]])
  }
})
