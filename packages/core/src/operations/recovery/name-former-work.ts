import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'

/**
 * Names the kind of rows that a process of the release before inserted: it knew only the queue. To be removed with the
 * view `outbox` and the column `queue` in the next release. See the migration `work`, which does the same once.
 */
export async function nameFormerWork(db: Db): Promise<void> {
  await db.execute(sql`
    update work set kind = case
      when queue = 'campaigns' then 'CAMPAIGN_BATCH'
      when queue = 'imports' then 'IMPORT'
      when queue = 'mail' then case when exists (
        select from mails m where m.workspace_id = work.workspace_id and m.id = work.id
          and m.kind in ('PASSWORD_RESET', 'EMAIL_VERIFICATION')) then 'ACCOUNT_MAIL' else 'MAIL' end
      when id = workspace_id then 'CLEAR_WORKSPACE'
      when exists (select from lists l where l.workspace_id = work.workspace_id and l.id = work.id) then 'CLEAR_LIST'
      when exists (select from custom_fields f where f.workspace_id = work.workspace_id and f.id = work.id)
        then 'CLEAR_CUSTOM_FIELD'
      else 'ERASE_CONTACT' end
    where kind is null`)
}
