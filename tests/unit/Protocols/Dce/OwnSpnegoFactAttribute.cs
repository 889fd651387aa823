namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>A test of our own SPNEGO, which clients on Windows leave to the system.</summary>
public sealed class OwnSpnegoFactAttribute : FactAttribute
{
    public OwnSpnegoFactAttribute()
    {
        if (OperatingSystem.IsWindows())
        {
            Skip = "on Windows the system does SPNEGO";
        }
    }
}
