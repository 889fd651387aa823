using System.Runtime.InteropServices;
using System.Runtime.Versioning;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecPkgContext_ClientSpecifiedTarget</c>: the service that a client asked for.</summary>
[SupportedOSPlatform("windows")]
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct SspiTarget
{
    private char* _name;

    /// <summary>The service principal name; frees what the system allocated.</summary>
    public string TakeName()
    {
        if (_name == null)
        {
            return "";
        }

        string name = new(_name);
        SspiApi.FreeContextBuffer(_name);
        _name = null;
        return name;
    }
}
