using System.Runtime.CompilerServices;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A theory about local endpoints that are Unix domain sockets. Skipped on Windows.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class UnixTheoryAttribute : TheoryAttribute
{
    public UnixTheoryAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = OperatingSystem.IsWindows()
            ? "its relay stands between Unix domain sockets, and these endpoints are pipes here"
            : null;
    }
}
