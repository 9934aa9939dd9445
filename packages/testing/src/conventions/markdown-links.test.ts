/** Every relative link and anchor of the Markdown files leads to a file or heading of the repository. */
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import GithubSlugger from 'github-slugger'
import { lexer, type Token, walkTokens } from 'marked'
import { expect, test } from 'vitest'
import { markdownFiles, root } from './repository-texts.ts'

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  void walkTokens(lexer(text), (token) => void tokens.push(token))
  return tokens
}

function anchorsOf(path: string): string[] {
  const slugger = new GithubSlugger()
  const text = markdownFiles.find((file) => file.path === path)?.text ?? ''
  return tokensOf(text).flatMap((token) => (token.type === 'heading' ? [slugger.slug(plainText(token))] : []))
}

/** The text of a heading without its Markdown, as GitHub slugs it. */
const plainText = (token: Token): string =>
  'tokens' in token && token.tokens
    ? token.tokens.map(plainText).join('')
    : 'text' in token
      ? String(token.text)
      : token.raw

function isBroken(path: string, href: string): boolean {
  if (/^(https?|mailto):/.test(href)) return false
  const [file = '', anchor] = decodeURI(href).split('#')
  const target = file === '' ? path : normalize(join(dirname(path), file))
  if (!existsSync(join(root, target))) return true
  return anchor !== undefined && !anchorsOf(target).includes(anchor)
}

test('every link of the Markdown files leads to a file and heading that exist', () => {
  const broken = markdownFiles.flatMap(({ path, text }) =>
    tokensOf(text).flatMap((token) => {
      const isLink = token.type === 'link' || token.type === 'image'
      return isLink && isBroken(path, String(token['href'])) ? [`${path}: ${String(token['href'])}`] : []
    }),
  )
  expect(broken).toEqual([])
})

test('the Markdown files include the pages that people look for', () => {
  const paths = markdownFiles.map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'CHANGELOG.md',
      'CODE_OF_CONDUCT.md',
      'CONTRIBUTING.md',
      'README.md',
      'SECURITY.md',
      'docs/architecture.md',
    ]),
  )
})
