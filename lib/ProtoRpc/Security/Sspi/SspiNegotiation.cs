using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecPkgContext_NegotiationInfo</c>: which package both sides agreed on.</summary>
[SupportedOSPlatform("windows")]
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiNegotiation
{
    private SspiPackageInfo* _package;
    private uint _state;

    /// <summary>The package's name; frees what the system allocated.</summary>
    public string? TakeName()
    {
        if (_package == null)
        {
            return null;
        }

        string? name = _package->Name == null ? null : new string(_package->Name);
        SspiApi.FreeContextBuffer(_package);
        _package = null;
        return name;
    }
}
