// Makes agentfs-sdk.db, with npm's agentfs-sdk@0.6.4:
//
//	npm install agentfs-sdk@0.6.4 && node agentfs-sdk.mjs agentfs-sdk.db
import { AgentFS } from 'agentfs-sdk';

const agent = await AgentFS.open({ path: process.argv[2] });
const { fs, kv, tools } = agent;

await fs.writeFile('/notes/today.txt', 'hello from the sdk\n');
await fs.writeFile('/notes/empty', '');
await fs.writeFile('/notes/\u{1F4D3}', 'a name of four bytes\n');
// Two chunks of 4096 bytes, and a bit.
await fs.writeFile('/big.bin', Buffer.from(Array.from({ length: 10000 }, (_, i) => (i * 7 + (i >> 8)) & 255)));
await fs.mkdir('/dir');
await fs.mkdir('/dir/sub');
await fs.writeFile('/dir/sub/full', 'x'.repeat(4096));
await fs.symlink('notes/today.txt', '/link');
await fs.symlink('notes/\u{1F4D3}', '/wide');
// A row that is gone.
await fs.writeFile('/gone', 'gone');
await fs.unlink('/gone');
await kv.set('plan', { step: 1, text: 'one' });
await tools.success(await tools.start('search', { query: 'x' }), { found: 3 });

// One file, without a log beside it.
const file = await fs.open('/notes/today.txt');
await file.pwrite(6, Buffer.from('FROM'));
await file.fsync();
await agent.close();
