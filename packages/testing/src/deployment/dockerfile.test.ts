/** The Dockerfile. apps/e2e/src/image.slow.test.ts runs the programs from the files of the image. */
import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { readRepositoryText } from '../conventions/repository-texts.ts'
import { isInImage } from './build-context.ts'

const dockerfile = readRepositoryText('Dockerfile')
const image = dockerfile.slice(dockerfile.lastIndexOf('FROM '))

test('the Dockerfile is valid', () => {
  // It does not know this flag of HEALTHCHECK, which Docker has since version 25.
  const known = dockerfile.replace('--start-interval=1s ', '')
  expect(known).not.toBe(dockerfile)
  expect(validate(known)).toEqual([])
})

test('the image runs any program of "rapport" as an unprivileged user', () => {
  const [, user = ''] = /^USER (.+)$/m.exec(image) ?? []
  expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
  expect(image).toMatch(/^ENTRYPOINT \["tini", "--", "rapport"\]$/m)
  expect(image).toMatch(/^CMD \["api"\]$/m)
})

test('the image has no secrets and no data', () => {
  const secrets = ['.env', '.env.production', '.rapport/local.env', '.git/config', 'apps/api/.env']
  expect(secrets.filter(isInImage)).toEqual([])
})
