-- What is known of recipients from before their batches counted them.
UPDATE campaign_batches b
SET sent = r.sent, failed = r.failed, skipped = r.skipped, interrupted = r.interrupted
FROM (
  SELECT workspace_id, batch_id,
    count(*) FILTER (WHERE status = 'SENT') AS sent,
    count(*) FILTER (WHERE status = 'FAILED') AS failed,
    count(*) FILTER (WHERE status = 'SKIPPED') AS skipped,
    count(*) FILTER (WHERE status = 'INTERRUPTED') AS interrupted
  FROM campaign_recipients GROUP BY workspace_id, batch_id) r
WHERE b.workspace_id = r.workspace_id AND b.id = r.batch_id;
