/** A checkout on Windows has all files: with their line endings, without symbolic links, and by names that Windows accepts. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const git = (...parameters: string[]) => execFileSync('git', parameters, { encoding: 'utf8', maxBuffer: 16_777_216 })
const tracked = git('ls-files', '-s', '-z')
  .split('\0')
  .flatMap((line) => {
    const [, mode = '', path = ''] = /^(\d+) \w+ \d\t(.+)$/s.exec(line) ?? []
    return path === '' ? [] : [{ mode, path }]
  })

test('no file is a symbolic link, which Windows checks out as a text', () => {
  expect(tracked.length).toBeGreaterThan(1_000)
  expect(tracked.filter(({ mode }) => mode === '120000')).toEqual([])
})

test('every text keeps its line feeds', () => {
  const attributes = git('ls-files', '--eol').split('\n').filter(Boolean)
  const isKept = (line: string) => /^i\/(?:lf|none|-text)\s.*attr\/(?:text=auto eol=lf|text eol=lf|-text)\s/.test(line)
  expect(attributes.filter((line) => !isKept(line))).toEqual([])
})

test('every name is one on Windows, whatever its case', () => {
  const paths = tracked.map(({ path }) => path)
  const reserved = /[<>:"|?*\\]|[. ](?:\/|$)|(?:^|\/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)/i
  expect(paths.filter((path) => reserved.test(path) || path.length > 180)).toEqual([])
  const lowered = paths.map((path) => path.toLowerCase())
  expect(new Set(lowered).size).toBe(paths.length)
})
