// Stands for libraries that are never called (vite.config.ts says which and why).
export default null;
