using ProtoRpc.Security.Sspi;

namespace ProtoRpc.SspiPeer;

/// <summary>Does what the lines that come say, and answers each with a line.</summary>
internal static class ContextLoop
{
    private const int Header = 24;
    private const int Trailer = 8;

    public static void Run(Func<SspiContext> begin)
    {
        SspiContext? context = null;
        Answer("ready");
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            byte[][] octets = [.. words.Skip(1).Select(Convert.FromHexString)];
            if (words[0] == "again")
            {
                context?.Dispose();
                context = null;
                Answer("ready");
                continue;
            }

            try
            {
                Answer(Do(context ??= begin(), words[0], octets));
            }
            catch (RpcException e)
            {
                Answer($"error {e.ErrorId} {e.Message}");
            }
        }
    }

    private static string Do(SspiContext context, string command, byte[][] octets)
    {
        switch (command)
        {
            case "step":
                string token = Convert.ToHexString(context.Step(octets[0]));
                return $"token {token} {(context.IsComplete ? "complete" : "more")}";
            case "supports":
                IEnumerable<RpcProtectionLevel> levels = Enum.GetValues<RpcProtectionLevel>();
                return $"levels {string.Join(' ', levels.Where(context.Supports))}";
            case "mechanism":
                return $"mechanism {context.AuthenticationType}";
            case "who":
                return $"who {context.Identity.Name}";
            case "sign" or "seal":
                byte[] signature = new byte[context.SignatureSize(command == "seal")];
                context.Protect(octets[0], Header..^Trailer, command == "seal", signature);
                return $"pdu {Convert.ToHexString(octets[0])} {Convert.ToHexString(signature)}";
            case "verify" or "open":
                bool isGood = context.Unprotect(octets[0], Header..^Trailer, command == "open", octets[1]);
                return isGood ? $"pdu {Convert.ToHexString(octets[0])}" : "altered";
            default:
                return $"error Unknown there is no command '{command}'";
        }
    }

    private static void Answer(string line)
    {
        Console.WriteLine(line);
        Console.Out.Flush();
    }
}
