using static ProtoRpc.Tests.Architecture.Arrows;

namespace ProtoRpc.Tests.Architecture;

/// <summary>The assemblies are built as the plan says: arrows between rooms go one way.</summary>
public static class ArchitectureTests
{
    [Fact]
    public static void Every_arrow_between_rooms_is_in_the_plan()
    {
        IEnumerable<Arrow> forbidden = Forbidden(Between(House.Types, HousePlan.RoomOf), HousePlan.Sees);

        Findings.None(forbidden.Select(arrow => $"Forbidden arrow {arrow}"));
    }

    [Fact]
    public static void No_room_is_part_of_a_cycle()
    {
        IEnumerable<(string, string)> planned =
            HousePlan.Sees.SelectMany(room => room.Value.Select(seen => (room.Key, seen)));
        IEnumerable<(string, string)> drawn =
            Between(House.Types, HousePlan.RoomOf).Select(arrow => (arrow.From, arrow.To));

        Findings.None(Cycles(planned));
        Findings.None(Cycles(drawn));
    }

    [Fact]
    public static void Every_room_of_the_plan_has_types()
    {
        Assert.Equal(
            HousePlan.Sees.Keys.Order(), House.Types.Select(HousePlan.RoomOf).Distinct().Order());
    }

    [Fact]
    public static void Sockets_pipes_files_and_programs_are_opened_where_the_plan_says()
    {
        string[] libraries = ["ProtoRpc", "ProtoRpc.AspNetCore", "ProtoRpc.Grpc"];
        IEnumerable<string> opened =
            from type in House.Types
            where libraries.Contains(type.Assembly) && !MayOpen(type)
            from used in type.Uses
            where HousePlan.Doors.Contains(used.FullName)
            select $"{HousePlan.RoomOf(type)}: {type.FullName} uses {used.FullName}";

        Findings.None(opened);
    }

    [Fact]
    public static void Each_exception_for_opening_is_still_needed()
    {
        IEnumerable<string> used = House.Types
            .Where(type => type.Uses.Any(name => HousePlan.Doors.Contains(name.FullName)))
            .SelectMany(PlacesOf);

        Findings.None(HousePlan.MayOpen.Keys.Except(used));
    }

    [Fact]
    public static void Nothing_but_the_libraries_of_the_shell_sees_the_shell()
    {
        IEnumerable<string> seen =
            from type in House.Types
            where type.Assembly != "ProtoRpc.PowerShell"
            from used in type.Uses
            where used.FullName.StartsWith("System.Management.Automation.", StringComparison.Ordinal)
            select $"{type.FullName} uses {used.FullName}";

        Findings.None(seen);
    }

    private static bool MayOpen(CodeType type) => PlacesOf(type).Any(HousePlan.MayOpen.ContainsKey);

    // What an exception may be written for: the type, its room, its folder or a folder around it.
    private static IEnumerable<string> PlacesOf(CodeType type)
    {
        yield return type.FullName;
        yield return HousePlan.RoomOf(type);
        foreach (string folder in type.Folders)
        {
            string[] parts = folder.Split('/');
            for (int depth = 2; depth <= parts.Length; depth++)
            {
                yield return string.Join('/', parts[..depth]);
            }
        }
    }
}
