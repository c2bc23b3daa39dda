import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./styles.css";

import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { pageMeta } from "./lib/page";

// Libraries that add style elements take the nonce from get-nonce.
setNonce(pageMeta("nonce"));

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(<App />);
}
