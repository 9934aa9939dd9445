import { expect, test } from 'vitest'
import { guides } from '../docs/guides.ts'
import { tools } from './tools.ts'

test('the guide to agents lists every tool with its role and annotations', () => {
  const { markdown = '' } = guides.find(({ slug }) => slug === 'agents') ?? {}
  const rows = markdown.split('\n').filter((line) => line.startsWith('| `'))
  const yesOrNo = (value: boolean) => (value ? 'yes' : 'no')
  const expected = tools.map(({ name, role, annotations }) => {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
    const hints = [!readOnlyHint, destructiveHint, idempotentHint, openWorldHint].map(yesOrNo)
    return `| \`${name}\` | ${[role, ...hints].join(' | ')} |`
  })
  expect(rows).toEqual(expected)
})
