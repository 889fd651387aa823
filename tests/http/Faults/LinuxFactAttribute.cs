using System.Runtime.CompilerServices;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A fact about processes of Linux: their signals, limits and files. Skipped elsewhere.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxFactAttribute : FactAttribute
{
    internal const string Reason = "it needs the signals, limits and /proc of Linux";

    public LinuxFactAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = OperatingSystem.IsLinux() ? null : Reason;
    }
}

/// <summary>The same with data.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxTheoryAttribute : TheoryAttribute
{
    public LinuxTheoryAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = OperatingSystem.IsLinux() ? null : LinuxFactAttribute.Reason;
    }
}
