using System.Runtime.CompilerServices;

namespace ProtoRpc.Tests.Transports;

/// <summary>A test of a connect that waits: on other systems, a full queue refuses.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxFactAttribute : FactAttribute
{
    public LinuxFactAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = OperatingSystem.IsLinux() ? null : "only on Linux does connecting wait where too many wait";
    }
}
