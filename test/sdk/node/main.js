// Drives a running gateway with the official OpenAI client for Node.

import './answers.js';
import './streams.js';
import './prompts.js';
import './failures.js';
import { runAll } from './kit.js';

process.exit((await runAll()) ? 1 : 0);
