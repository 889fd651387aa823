namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A theory about local endpoints that are Unix domain sockets. Skipped on Windows.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class UnixTheoryAttribute : TheoryAttribute
{
    public UnixTheoryAttribute()
    {
        Skip = OperatingSystem.IsWindows()
            ? "its relay stands between Unix domain sockets, and these endpoints are pipes here"
            : null;
    }
}
