// Which of some numbers is the least, while they change one at a time.
//
// The winner of each match of two goes on to the next one, so a number that changes plays as many matches as there are
// rounds, and fewer if it loses one that it would have lost before. A search asks for the cheapest of its features
// after every scan, and with some tens of features to look through all of them takes longer than the scan itself.
#pragma once

#include <bit>
#include <vector>

#include "search/problem.h"

namespace hardwood::search
{
class Tournament
{
    struct Player
    {
        Weight value = everything;
        Index number = -1;
    };

    std::size_t nPlaces_;
    std::vector<Player>
        player_;  // matches from 1 on, k between the winners of 2 k and 2 k + 1; behind them all players

    [[nodiscard]] Player const &winnerOf(std::size_t match) const
    {
        auto const &first = player_[2 * match];
        auto const &second = player_[2 * match + 1];
        return second.value < first.value ? second : first;
    }

public:
    explicit Tournament(Index size)
        : nPlaces_(std::bit_ceil(static_cast<std::size_t>(std::max<Index>(2, size)))), player_(2 * nPlaces_)
    {
    }

    // The numbers, all anew.
    void begin(Span<Weight const> values)
    {
        for (Index k = 0; k < values.size(); ++k)
            player_[nPlaces_ + static_cast<std::size_t>(k)] = {values[k], k};
        for (auto match = nPlaces_ - 1; match > 0; --match)
            player_[match] = winnerOf(match);
    }

    void change(Index number, Weight value)
    {
        auto match = nPlaces_ + static_cast<std::size_t>(number);
        player_[match].value = value;
        for (match /= 2; match > 0; match /= 2)
        {
            auto const &winner = winnerOf(match);
            if (player_[match].number != number && winner.number != number)
                return;
            player_[match] = winner;
        }
    }

    // The number of the least; of equals the first.
    [[nodiscard]] Index least() const { return player_[1].number; }
};
}  // namespace hardwood::search
