namespace ProtoRpc.Tests.Transports;

/// <summary>A test of a connect that waits: on other systems, a full queue refuses.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxFactAttribute : FactAttribute
{
    public LinuxFactAttribute()
    {
        Skip = OperatingSystem.IsLinux() ? null : "only on Linux does connecting wait where too many wait";
    }
}
