import type { z } from 'zod'
import type { ContactId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { Page } from '../../request/paging.ts'

export interface SectionQuery {
  limit: number
  cursor: string | undefined
  sort: 'createdAt'
}
type ReadPage<Item> = (ctx: Ctx, contactId: ContactId, query: SectionQuery) => Promise<Page<Item>>

/** One list of `GET /contacts/{id}/export`. */
export interface ExportSection {
  name: string
  item: z.ZodType
  readPage: ReadPage<unknown>
}

export function section<Item extends z.ZodType>(
  name: string,
  item: Item,
  readPage: ReadPage<z.output<Item>>,
): ExportSection {
  return { name, item, readPage }
}
