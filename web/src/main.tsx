import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./styles.css";

import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { pageFact } from "./lib/page";

// Libraries that add style elements by themselves ask get-nonce.
setNonce(pageFact("nonce"));

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(<App />);
}
